import { watch } from 'vue'
import { useNotifications } from '../ui/useNotifications.ts'
import { type Fetched } from './fetched.ts'

/** Tells in a message that a value could not be fetched, for parts of a page without room for it. Further attempts that fail are not told. */
export function tellFailures({ error }: Pick<Fetched<unknown>, 'error'>): void {
  const notifications = useNotifications()
  watch(error, (now, before) => {
    if (now !== null && before === null) notifications.error(now)
  })
}
