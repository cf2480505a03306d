import { computed, type WritableComputedRef } from 'vue'
import { type DialogAddress } from './useDialogAddress.ts'

/** The `v-model` of a dialog that is part of the URL: true opens its URL, false closes it. */
export const dialogModel = <N extends string>(address: DialogAddress<N>, name: N): WritableComputedRef<boolean> =>
  computed({
    get: () => address.shown.value?.name === name,
    set(open) {
      if (open) address.open(name)
      else address.close()
    },
  })
