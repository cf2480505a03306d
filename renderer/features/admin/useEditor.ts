import { computed, ref, shallowRef } from 'vue'
import { useNotifications } from '../../ui/useNotifications.ts'
import { t } from './words.ts'

/** Which thing of a list is being created, edited or deleted, and the messages when that is done. */
export function useEditor<T>(options: {
  readonly nameOf: (thing: T) => string
  readonly reload: () => Promise<void>
  readonly remove: (thing: T) => Promise<unknown>
}) {
  const { nameOf, reload, remove } = options
  const notifications = useNotifications()
  const thing = shallowRef<T | undefined>()
  const doing = ref<'nothing' | 'edit' | 'delete'>('nothing')
  const openOf = (what: 'edit' | 'delete') =>
    computed({
      get: () => doing.value === what,
      set: open => (doing.value = open ? what : 'nothing'),
    })
  return {
    thing,
    editing: openOf('edit'),
    deleting: openOf('delete'),
    create(): void {
      thing.value = undefined
      doing.value = 'edit'
    },
    edit(one: T): void {
      thing.value = one
      doing.value = 'edit'
    },
    askDeletion(one: T): void {
      thing.value = one
      doing.value = 'delete'
    },
    async saved(name: string): Promise<void> {
      notifications.success(t(thing.value ? 'saved' : 'createdNow', { name }))
      doing.value = 'nothing'
      await reload()
    },
    /** Deletes the thing, after the dialog asked. */
    async remove(): Promise<void> {
      const one = thing.value
      if (one === undefined) return
      await remove(one)
      notifications.success(t('deletedNow', { name: nameOf(one) }))
      await reload()
    },
  }
}
