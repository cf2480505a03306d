import { onMounted, onUnmounted, shallowRef } from 'vue'
import { useAccount } from '../account/useAccount.ts'
import { readVisit, visitAt, type Visit } from './last-visit.ts'

/** The visit of the signed-in person on this computer, kept up to date while the page is open. */
export function useVisit() {
  const account = useAccount()
  const key = `berth.visit.${account.user?.id ?? ''}`
  const visit = shallowRef<Visit>(visitAt(Date.now(), readVisit(globalThis.localStorage.getItem(key))))
  const store = () => globalThis.localStorage.setItem(key, JSON.stringify({ ...visit.value, seen: Date.now() }))
  function onVisibility(): void {
    if (document.visibilityState === 'hidden') store()
    else visit.value = visitAt(Date.now(), readVisit(globalThis.localStorage.getItem(key)))
  }
  onMounted(() => {
    store()
    document.addEventListener('visibilitychange', onVisibility)
  })
  onUnmounted(() => {
    document.removeEventListener('visibilitychange', onVisibility)
    store()
  })
  return visit
}
