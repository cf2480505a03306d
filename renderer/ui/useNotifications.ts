import { defineStore } from 'pinia'
import { ref } from 'vue'
import { logError } from './error-log.ts'
import { remedyOf } from './error-remedy.ts'
import { errorLine } from './error-text.ts'

export interface Notification {
  readonly id: number
  readonly kind: 'success' | 'info' | 'error'
  readonly text: string
  readonly action?: {
    readonly label: string
    readonly run: () => void
    /** The message stays until it is used or dismissed. */
    readonly stays?: boolean
  }
}

/** Short messages at the lower edge: at most three at a time, and those that stay; errors stay longer. */
export const useNotifications = defineStore('notifications', () => {
  const items = ref<Notification[]>([])
  let nextId = 1

  function show(kind: Notification['kind'], text: string, action?: Notification['action']): void {
    const others = items.value.filter(item => item.text !== text)
    items.value = [
      ...others.filter((item, at) => item.action?.stays || at > others.length - 3),
      { id: nextId++, kind, text, ...(action ? { action } : {}) },
    ]
  }
  return {
    items,
    success: (text: string, action?: Notification['action']) => show('success', text, action),
    info: (text: string, action?: Notification['action']) => show('info', text, action),
    error(error: unknown) {
      logError(error)
      show('error', errorLine(error), remedyOf(error))
    },
    dismiss: (id: number) => {
      items.value = items.value.filter(item => item.id !== id)
    },
  }
})
