import 'vuetify/styles'
import './style.css'
import { createPinia } from 'pinia'
import { createApp } from 'vue'
import { z } from 'zod'
import { createApi } from '../api/api.ts'
import { csrfToken } from '../api/csrf.ts'
import { createEventStream } from '../api/event-stream.ts'
import { useAccount } from '../features/account/useAccount.ts'
import { createHost, type HostWindow } from '../host.ts'
import { provideServices } from '../services.ts'
import App from './App.vue'
import { reloadLostParts } from './lost-parts.ts'
import { createPageRouter } from './router.ts'
import { createPageVuetify } from './vuetify.ts'

// Compiled validators need eval, which the page's policy forbids.
z.config({ jitless: true })

const fetchHere: typeof fetch = (input, init) => fetch(input, init)
const pinia = createPinia()
const app = createApp(App)
app.use(pinia)
const api = createApi({
  fetch: fetchHere,
  onSignedOut: () => useAccount(pinia).expire(),
  adopt: me => useAccount(pinia).adopt(me),
})
provideServices(app, {
  api,
  host: createHost({
    window: window as HostWindow,
    fetch: fetchHere,
    csrf: csrfToken.get,
    renewSignIn: async () => useAccount(pinia).adopt(await api.me()),
  }),
  events: createEventStream({ fetch: fetchHere }),
})
app.use(createPageVuetify())
const router = createPageRouter()
reloadLostParts(router)
app.use(router)
app.mount('#app')
