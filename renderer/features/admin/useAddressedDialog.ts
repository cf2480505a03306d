import { computed, watch, type WritableComputedRef } from 'vue'
import { useDialogAddress } from '../../ui/useDialogAddress.ts'

/**
 * Whether a dialog of the page is open, as its address says (`?dialog=NAME`), so that other pages can lead to it.
 *
 * @param isPossible whether its button is there: an address opens no more than that
 */
export function useAddressedDialog(name: string, isPossible: () => boolean = () => true): WritableComputedRef<boolean> {
  const address = useDialogAddress([name])
  // What the dialog did may have ended its button; the address would open it again with the button.
  watch(isPossible, possible => possible || address.close())
  return computed({
    get: () => address.shown.value !== null && isPossible(),
    set: open => (open ? address.open(name) : address.close()),
  })
}
