import { computed, ref, shallowRef } from 'vue'
import { useNotifications } from '../../../ui/useNotifications.ts'
import { t as shared } from '../words.ts'

/** Which thing of a list is being created, edited or deleted, and the messages when that is done. */
export function useEditor<T>(nameOf: (thing: T) => string, reload: () => Promise<void>) {
  const notifications = useNotifications()
  const thing = shallowRef<T | undefined>()
  const doing = ref<'nothing' | 'edit' | 'delete'>('nothing')
  const openOf = (what: 'edit' | 'delete') =>
    computed({
      get: () => doing.value === what,
      set: open => (doing.value = open ? what : 'nothing'),
    })

  /** Runs a change of one thing at once, without a dialog. */
  async function change(
    one: T,
    run: () => Promise<unknown>,
    message: 'activatedNow' | 'deactivatedNow',
  ): Promise<void> {
    try {
      await run()
      notifications.success(shared(message, { name: nameOf(one) }))
      await reload()
    } catch (error) {
      notifications.error(error)
    }
  }
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
      notifications.success(shared(thing.value ? 'saved' : 'createdNow', { name }))
      doing.value = 'nothing'
      await reload()
    },
    async deleted(): Promise<void> {
      notifications.success(shared('deletedNow', { name: thing.value ? nameOf(thing.value) : '' }))
      await reload()
    },
    change,
  }
}
