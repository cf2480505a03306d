import { defineStore } from 'pinia'
import { ref, shallowRef } from 'vue'
import { type Session, type SessionDetails } from '#manager/contract'
import { useServices } from '../../services.ts'
import { useNotifications } from '../../ui/useNotifications.ts'

/** Whether the launch dialog is open, and which finished session it repeats. */
export const useLaunch = defineStore('launch', () => {
  const { api } = useServices()
  const notifications = useNotifications()
  const isOpen = ref(false)
  const like = shallowRef<SessionDetails | null>(null)
  /** Aborts the request for the session of the last click. */
  let asking = new AbortController()

  /** Opens the dialog; for a session, once its variables are fetched, which lists leave out. */
  function open(session: Session | null = null): void {
    asking.abort()
    asking = new AbortController()
    const { signal } = asking
    const show = (details: SessionDetails | null) => {
      if (signal.aborted) return
      like.value = details
      isOpen.value = true
    }
    if (!session) {
      show(null)
      return
    }
    void api.getSession({ params: { id: session.id }, signal }).then(show, (cause: unknown) => {
      if (!signal.aborted) notifications.error(cause)
    })
  }
  return { isOpen, like, open }
})
