import { type ShallowRef, type WritableComputedRef } from 'vue'
import { useNotifications } from '../../ui/useNotifications.ts'
import { useAskedRow } from './useAskedRow.ts'
import { type RowSource } from './useRowOf.ts'
import { t } from '../../words/en/admin.ts'

/** The question before a deactivation, which `DeactivateDialog` asks. */
export interface Deactivation<T> {
  /** Whether the question is open; set it to close the question. */
  readonly asking: WritableComputedRef<boolean>
  /** The thing that the question is about, kept while the dialog closes; undefined before the first question. */
  readonly asked: Readonly<ShallowRef<T | undefined>>
  readonly nameOf: (thing: T) => string
  /** Called once the user agrees. */
  readonly deactivate: (thing: T) => Promise<void>
}

/** Activation and deactivation of the things of a list. */
export interface Activation<T> extends Deactivation<T> {
  readonly isActive: (thing: T) => boolean
  /** Whether the thing can be deactivated at all. */
  readonly fits: (thing: T) => boolean
  /** Called by the button of a row. */
  readonly press: (thing: T) => void
}

/**
 * Activates a thing of a list at once, and deactivates it after a question, which is part of the URL (`?dialog=deactivate&of=KEY`). Shows a
 * message about both, and fetches the list again.
 */
export function useActivation<T extends { readonly active: boolean }>(options: {
  readonly source: RowSource<T>
  readonly nameOf: (thing: T) => string
  readonly reload: () => Promise<void>
  readonly set: (thing: T, active: boolean) => Promise<unknown>
}): Activation<T> {
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
    asking,
    asked,
    nameOf,
    deactivate: thing => change(thing, false),
    isActive: ({ active }) => active,
    fits,
    press: thing => (thing.active ? ask(thing) : void change(thing, true).catch(notifications.error)),
  }
}
