import { computed, type Ref, shallowRef } from 'vue'
import { useNotifications } from './useNotifications.ts'

export interface Action<Key> {
  /** The action that is in flight, of several that share their state, such as the rows of a list; null if there is none. */
  readonly doing: Readonly<Ref<Key | null>>
  /** True while an action is in flight. */
  readonly busy: Readonly<Ref<boolean>>
  /** Runs `act` and shows its failure as a message. @returns whether it succeeded */
  readonly run: (act: () => Promise<unknown>, key?: Key) => Promise<boolean>
}

/** The state of a button that acts at once. Forms, which show a failure in their place, have `useAttempt`. */
export function useAction<Key = true>(): Action<Key> {
  const notifications = useNotifications()
  const doing: Ref<Key | null> = shallowRef(null)
  const busy = computed(() => doing.value !== null)

  async function run(act: () => Promise<unknown>, key = true as Key): Promise<boolean> {
    doing.value = key
    try {
      await act()
      return true
    } catch (error) {
      notifications.error(error)
      return false
    } finally {
      doing.value = null
    }
  }
  return { doing, busy, run }
}
