import { computed } from 'vue'
import { useDialogAddress, useDialogThing } from '../../ui/useDialogAddress.ts'
import { type RowSource, useRowOf } from './useRowOf.ts'

/**
 * A dialog about one thing of the page, which is part of the URL (`?dialog=NAME&of=KEY`). A URL of an unknown thing opens nothing and is
 * corrected. The thing is kept while the dialog closes.
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
