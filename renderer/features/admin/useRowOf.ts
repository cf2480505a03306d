import { computed } from 'vue'
import { useFetched } from '../../data/fetched.ts'
import { tellFailures } from '../../data/tell-failures.ts'
import { type DialogAddress } from '../../ui/useDialogAddress.ts'

export interface RowSource<T> {
  readonly keyOf: (thing: T) => string
  /** Rows that the dialog may be about; null until they are loaded. */
  readonly rows: () => readonly T[] | null
  /** Requests a row that is not loaded from the server; undefined: there is none. Left out: the list has all rows. */
  readonly find?: ((key: string, signal: AbortSignal) => Promise<T | undefined>) | undefined
  /** Whether the dialog can be about this thing; left out: always. */
  readonly fits?: (thing: T) => boolean
}

/** The thing that the open dialog is about; null: it does not exist; undefined: not known yet, or no dialog is open. */
export function useRowOf<T>(
  address: Pick<DialogAddress<string>, 'shown'>,
  { keyOf, rows, find, fits = () => true }: RowSource<T>,
) {
  const key = computed(() => address.shown.value?.of)
  const loaded = computed(() => rows()?.find(one => keyOf(one) === key.value))
  const isMissing = computed(() => key.value !== undefined && rows() !== null && !loaded.value)
  const found = useFetched({
    key: () => (isMissing.value ? key.value : undefined),
    async fetch(asked, signal) {
      const row = await find?.(asked, signal)
      return { row: row && keyOf(row) === asked ? row : null }
    },
  })
  tellFailures(found)
  return computed(() => {
    const row = loaded.value ?? (found.error.value === null ? found.value.value?.row : null)
    return row && !fits(row) ? null : row
  })
}
