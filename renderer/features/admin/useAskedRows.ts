import { computed } from 'vue'
import { useNotifications } from '../../ui/useNotifications.ts'
import { useAskedRow } from './useAskedRow.ts'
import { type RowSource } from './useRowOf.ts'

/** A choice of things, as an address names it: `of=KEY,KEY`. */
interface Choice<T> {
  readonly key: string
  readonly things: readonly T[]
}

/**
 * As `useAskedRow`, about several things. Those that the page has not loaded are asked for; those that are gone, or that the dialog
 * cannot be about, are left out, and without any the dialog does not open.
 */
export function useAskedRows<T>(name: string, { keyOf, rows, find, fits = () => true }: RowSource<T>) {
  const notifications = useNotifications()

  async function rowOf(key: string, signal: AbortSignal): Promise<T | undefined> {
    try {
      return rows()?.find(one => keyOf(one) === key) ?? (await find?.(key, signal))
    } catch (error) {
      if (!signal.aborted) notifications.error(error)
      return undefined
    }
  }
  const { asked, asking, ask } = useAskedRow<Choice<T>>(name, {
    keyOf: ({ key }) => key,
    // No row is a choice: `find` puts each together, once there are rows.
    rows: () => rows() && [],
    async find(key, signal) {
      const found = await Promise.all(key.split(',').map(one => rowOf(one, signal)))
      return { key, things: found.filter(one => one !== undefined).filter(fits) }
    },
    fits: ({ things }) => things.length > 0,
  })
  return {
    asked: computed(() => asked.value?.things),
    asking,
    ask: (things: readonly T[]) => ask({ key: things.map(keyOf).join(), things }),
  }
}
