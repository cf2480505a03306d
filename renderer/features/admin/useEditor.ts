import { computed } from 'vue'
import { useDialogAddress, useDialogThing } from '../../ui/useDialogAddress.ts'
import { useNotifications } from '../../ui/useNotifications.ts'
import { type AdminList } from './admin-list.ts'
import { type RowSource, useRowOf } from './useRowOf.ts'
import { t } from '../../words/en/admin.ts'

/** The editor of a list, as `useEditor` makes it. */
export type Editor<T> = ReturnType<typeof useEditor<T>>

/**
 * State of a list's editor: the thing that is created, edited or deleted, as in the URL (`?dialog=edit&of=NAME`), and the messages after
 * that.
 */
export function useEditor<T>(options: {
  readonly list: Pick<AdminList<T>, 'rows' | 'load'>
  readonly nameOf: (thing: T) => string
  /** Key that distinguishes things with equal names; the name if left out. */
  readonly keyOf?: (thing: T) => string
  readonly find?: RowSource<T>['find']
  readonly remove: (thing: T) => Promise<unknown>
}) {
  const { list, nameOf, keyOf = nameOf, find, remove } = options
  const notifications = useNotifications()
  const address = useDialogAddress(['new', 'edit', 'delete'])
  const row = useRowOf(address, { keyOf, rows: () => list.rows, find })
  const { thing, ready } = useDialogThing(address, () => row.value)
  const openOf = (...names: readonly string[]) =>
    computed({
      get: () => ready.value && names.includes(address.shown.value?.name ?? ''),
      set: () => address.close(),
    })
  return {
    thing,
    nameOf,
    editing: openOf('new', 'edit'),
    deleting: openOf('delete'),
    create: () => address.open('new'),
    edit: (one: T) => address.open('edit', keyOf(one)),
    askDeletion: (one: T) => address.open('delete', keyOf(one)),
    async saved(name: string): Promise<void> {
      notifications.success(t(thing.value ? 'saved' : 'createdNow', { name }))
      address.close()
      await list.load()
    },
    /** Deletes the thing that the dialog showed. */
    async remove(one: T): Promise<void> {
      await remove(one)
      notifications.success(t('deletedNow', { name: nameOf(one) }))
      await list.load()
    },
  }
}
