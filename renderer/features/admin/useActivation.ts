import { useNotifications } from '../../ui/useNotifications.ts'
import { useAskedRow } from './useAskedRow.ts'
import { type RowSource } from './useRowOf.ts'
import { t } from './words.ts'

/**
 * Activates a thing of a list at once, and deactivates it after a question, which is part of the URL (`?dialog=deactivate&of=KEY`).
 * Tells both, and loads the list again.
 */
export function useActivation<T extends { readonly active: boolean }>(options: {
  readonly source: RowSource<T>
  readonly nameOf: (thing: T) => string
  readonly reload: () => Promise<void>
  readonly set: (thing: T, active: boolean) => Promise<unknown>
}) {
  const { source, nameOf, reload, set } = options
  const { fits = () => true } = source
  const notifications = useNotifications()
  const { asked, asking, ask } = useAskedRow<T>('deactivate', { ...source, fits: one => one.active && fits(one) })

  async function change(thing: T, active: boolean): Promise<void> {
    await set(thing, active)
    notifications.success(t(active ? 'activatedNow' : 'deactivatedNow', { name: nameOf(thing) }))
    await reload()
  }
  return {
    asked,
    asking,
    /** Called by the button of a row. */
    press: (thing: T) => (thing.active ? ask(thing) : void change(thing, true).catch(notifications.error)),
    /** Called by the question, once the user agrees. */
    deactivate: async () => {
      if (asked.value) await change(asked.value, false)
    },
  }
}
