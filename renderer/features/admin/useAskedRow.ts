import { computed, shallowRef, watch } from 'vue'
import { type DialogAddress, useDialogAddress, useDialogThing } from '../../ui/useDialogAddress.ts'

export interface RowSource<T> {
  readonly keyOf: (thing: T) => string
  /** Those that the dialog may be about; null until they are loaded. */
  readonly rows: () => readonly T[] | null
  /** Asks the server for one that is not among the loaded rows; null: there is none. Left out: the list has all. */
  readonly find?: (key: string) => Promise<T | null>
  /** Whether the dialog may be about this one; left out: about each. */
  readonly fits?: (thing: T) => boolean
}

/** The thing that the open dialog is about; null: there is none; undefined: not known yet, or about none. */
export function useRowOf<T>(
  address: Pick<DialogAddress<string>, 'shown'>,
  { keyOf, rows, find, fits = () => true }: RowSource<T>,
) {
  const found = shallowRef<{ readonly key: string; readonly row: T | null }>()
  const key = computed(() => address.shown.value?.of)
  const loaded = computed(() => rows()?.find(one => keyOf(one) === key.value))
  const isMissing = computed(() => key.value !== undefined && rows() !== null && !loaded.value)
  watch(
    [key, isMissing],
    async ([asked, missing]) => {
      if (asked === undefined || !missing || found.value?.key === asked) return
      // What cannot be looked up is treated as gone: the list itself says what is wrong.
      const row = (await find?.(asked).catch(() => null)) ?? null
      found.value = { key: asked, row }
    },
    { immediate: true },
  )
  return computed(() => {
    const row = loaded.value ?? (isMissing.value && found.value?.key === key.value ? found.value?.row : undefined)
    return row && !fits(row) ? null : row
  })
}

/**
 * A dialog about one thing of the page, which is part of the URL (`?dialog=NAME&of=KEY`). A URL of a thing that the page does not
 * have opens nothing and is corrected. The thing stays while the dialog closes.
 */
export function useAskedRow<T>(name: string, source: RowSource<T>) {
  const address = useDialogAddress([name])
  const row = useRowOf(address, source)
  const { thing, ready } = useDialogThing(address, () => row.value)
  const asking = computed({
    get: () => ready.value && thing.value !== undefined && address.shown.value !== null,
    set: () => address.close(),
  })
  return { asked: thing, asking, ask: (one: T) => address.open(name, source.keyOf(one)) }
}
