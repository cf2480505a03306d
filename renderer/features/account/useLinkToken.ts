import { onMounted, ref, type Ref } from 'vue'
import { useRoute, useRouter } from 'vue-router'

/** Reads the one-time token of the opened link and removes it from the address bar, the history and any screenshot. */
export function useLinkToken(name: 'token' | 'invitation' | 'request'): Ref<string> {
  const route = useRoute()
  const router = useRouter()
  const given = route.query[name]
  const token = ref(typeof given === 'string' ? given : '')
  onMounted(async () => {
    if (given === undefined) return
    const { [name]: _, ...query } = route.query
    await router.replace({ path: route.path, query })
  })
  return token
}
