import { watch } from 'vue'
import { useNotifications } from '../ui/useNotifications.ts'
import { type Fetched } from './fetched.ts'

/** Shows a message when a value could not be fetched, for parts of a page without space for it. Further failed attempts show none. */
export function tellFailures({ error }: Pick<Fetched<unknown>, 'error'>): void {
  const notifications = useNotifications()
  watch(error, (now, before) => {
    if (now !== null && before === null) notifications.error(now)
  })
}
