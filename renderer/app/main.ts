import 'vuetify/styles/layers'
import 'vuetify/styles/core'
import 'vuetify/styles/utilities'
import './style.css'
import { createPinia } from 'pinia'
import { createApp, watch } from 'vue'
import { createApi } from '../api/api.ts'
import { createEventStream } from '../api/event-stream.ts'
import { createLocalProof } from '../api/local-proof.ts'
import { createOriginSecret, fetchWithSecret } from '../api/origin-secret.ts'
import { fetchWithClock } from '../api/server-clock.ts'
import { useAccount } from '../data/account/useAccount.ts'
import { logError, logUncaught } from '../ui/error-log.ts'
import { createHost, type HostWindow } from '../host.ts'
import { provideServices } from '../services.ts'
import { useNotifications } from '../ui/useNotifications.ts'
import { language } from '../words/i18n.ts'
import { startLanguage } from '../words/language-choice.ts'
import App from './App.vue'
import { reloadLostParts } from './lost-parts.ts'
import { createPageRouter } from './router.ts'
import { loadAhead, loadShellWithPages } from './shell.ts'
import { themeChoice } from '../ui/useThemeChoice.ts'
import { createPageVuetify } from '../ui/vuetify.ts'

const secret = createOriginSecret(localStorage)
const fetchHere = fetchWithSecret(
  fetchWithClock((input, init) => fetch(input, init)),
  secret,
  path => localProof.headers(path),
)
const localProof = createLocalProof({ storage: localStorage, fetch: fetchHere })
const pinia = createPinia()
const app = createApp(App)
app.use(pinia)
const api = createApi({
  fetch: fetchHere,
  secret,
  onSignedOut: () => useAccount(pinia).expire(),
  adopt: (me, newer) => useAccount(pinia).adopt(me, newer),
})
const host = createHost({
  window: window as HostWindow,
  fetch: fetchHere,
  renewSignIn: () => api.renewSignIn(),
})
provideServices(app, {
  api,
  secret,
  localProof,
  host,
  events: createEventStream({ fetch: fetchHere }),
})
app.use(createPageVuetify())
const router = createPageRouter(host.isDesktop)
reloadLostParts(router)
logUncaught(window)
loadShellWithPages(router)
// A browser without a secret has no sign-in.
if (host.isDesktop || secret.get() !== '') loadAhead(router)
app.use(router)
void startLanguage(error => useNotifications(pinia).error(error)).then(() => {
  // Menus and questions of the desktop app use the language and the theme of the page.
  if (host.isDesktop) {
    const tell = (told: Promise<void>) => void told.catch((error: unknown) => logError(error))
    watch(
      () => language.value,
      now => tell(host.desktop.language(now)),
      { immediate: true },
    )
    watch(themeChoice, now => tell(host.desktop.theme(now)), { immediate: true })
  }
  app.mount('#app')
})
