import { useNotifications } from '../../ui/useNotifications.ts'
import { t } from './words.ts'

/** Activates or deactivates a thing of a list at once, with a message, and loads the list again. */
export function useActivation<T>(options: {
  readonly nameOf: (thing: T) => string
  readonly reload: () => Promise<void>
  readonly set: (thing: T, active: boolean) => Promise<unknown>
}): (thing: T, active: boolean) => Promise<void> {
  const { nameOf, reload, set } = options
  const notifications = useNotifications()
  return async (thing, active) => {
    try {
      await set(thing, active)
      notifications.success(t(active ? 'activatedNow' : 'deactivatedNow', { name: nameOf(thing) }))
      await reload()
    } catch (error) {
      notifications.error(error)
    }
  }
}
