import { computed, shallowRef, watch } from 'vue'
import { type DialogAddress } from '../../ui/useDialogAddress.ts'
import { useNotifications } from '../../ui/useNotifications.ts'

export interface RowSource<T> {
  readonly keyOf: (thing: T) => string
  /** Rows that the dialog may be about; null until they are loaded. */
  readonly rows: () => readonly T[] | null
  /** Asks the server for a row that is not among the loaded ones; undefined: there is none. Left out: the list has all. */
  readonly find?: ((key: string) => Promise<T | undefined>) | undefined
  /** Whether the dialog may be about this one; left out: about each. */
  readonly fits?: (thing: T) => boolean
}

/** The thing that the open dialog is about; null: there is none; undefined: not known yet, or about none. */
export function useRowOf<T>(
  address: Pick<DialogAddress<string>, 'shown'>,
  { keyOf, rows, find, fits = () => true }: RowSource<T>,
) {
  const notifications = useNotifications()
  const found = shallowRef<{ readonly key: string; readonly row: T | null }>()
  const key = computed(() => address.shown.value?.of)
  const loaded = computed(() => rows()?.find(one => keyOf(one) === key.value))
  const isMissing = computed(() => key.value !== undefined && rows() !== null && !loaded.value)
  watch(
    [key, isMissing],
    async ([asked, missing], [before]) => {
      // A dialog that opens again asks again: the thing may have changed since.
      if (asked !== before) found.value = undefined
      if (asked === undefined || !missing || found.value) return
      const row = await find?.(asked).catch(notifications.error)
      if (key.value === asked) found.value = { key: asked, row: row && keyOf(row) === asked ? row : null }
    },
    { immediate: true },
  )
  return computed(() => {
    const row = loaded.value ?? (isMissing.value && found.value?.key === key.value ? found.value?.row : undefined)
    return row && !fits(row) ? null : row
  })
}
