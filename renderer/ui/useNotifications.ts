import { defineStore } from 'pinia'
import { ref } from 'vue'
import { logError } from './error-log.ts'
import { errorLine } from './error-text.ts'

export interface Notification {
  readonly id: number
  readonly kind: 'success' | 'info' | 'error'
  readonly text: string
  readonly action?: { readonly label: string; readonly run: () => void }
}

/** Short messages at the lower edge: at most three at a time; errors stay longer. */
export const useNotifications = defineStore('notifications', () => {
  const items = ref<Notification[]>([])
  let nextId = 1

  function show(kind: Notification['kind'], text: string, action?: Notification['action']): void {
    items.value = [
      ...items.value.filter(item => item.text !== text).slice(-2),
      { id: nextId++, kind, text, ...(action ? { action } : {}) },
    ]
  }
  return {
    items,
    success: (text: string, action?: Notification['action']) => show('success', text, action),
    info: (text: string, action?: Notification['action']) => show('info', text, action),
    error(error: unknown) {
      logError(error)
      show('error', errorLine(error))
    },
    dismiss: (id: number) => {
      items.value = items.value.filter(item => item.id !== id)
    },
  }
})
