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
  /** Called when the message was used or dismissed; with it, the message stays until then. */
  readonly closed?: () => void
}

/** Whether a message stays until it is used or dismissed. */
export const isKept = ({ action, closed }: Notification): boolean => action?.stays === true || closed !== undefined

/** Short messages at the lower edge: at most three at a time, besides those that stay; errors are shown longer. */
export const useNotifications = defineStore('notifications', () => {
  const items = ref<Notification[]>([])
  let nextId = 1

  function show(
    kind: Notification['kind'],
    text: string,
    action?: Notification['action'],
    closed?: Notification['closed'],
  ): number {
    const others = items.value.filter(item => item.text !== text)
    items.value = [
      ...others.filter((item, at) => isKept(item) || at > others.length - 3),
      { id: nextId++, kind, text, ...(action && { action }), ...(closed && { closed }) },
    ]
    return nextId - 1
  }
  return {
    items,
    success: (text: string, action?: Notification['action']) => show('success', text, action),
    info: (text: string, action?: Notification['action']) => show('info', text, action),
    error(error: unknown) {
      logError(error)
      show('error', errorLine(error), remedyOf(error))
    },
    /** A message that stays until the person closes it. @returns its id */
    keep: (text: string, closed: () => void, action?: Notification['action']) => show('info', text, action, closed),
    dismiss: (id: number) => {
      items.value.find(item => item.id === id)?.closed?.()
      items.value = items.value.filter(item => item.id !== id)
    },
  }
})
