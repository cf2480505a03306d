import { defineStore } from 'pinia'
import { ref, shallowRef } from 'vue'
import { type Session } from '#manager/contract'

/** Whether the launch dialog is open, and which finished session it repeats. */
export const useLaunch = defineStore('launch', () => {
  const isOpen = ref(false)
  const like = shallowRef<Session | null>(null)

  function open(session: Session | null = null): void {
    like.value = session
    isOpen.value = true
  }
  return { isOpen, like, open }
})
