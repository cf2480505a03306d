import { computed, watch, type WritableComputedRef } from 'vue'
import { useDialogAddress } from '../../ui/useDialogAddress.ts'

/**
 * Whether a dialog of the page is open, as its address says (`?dialog=NAME`), so that other pages can lead to it.
 *
 * @param isPossible whether its button is there: an address opens no more than that
 */
export function useAddressedDialog(name: string, isPossible: () => boolean = () => true): WritableComputedRef<boolean> {
  const address = useDialogAddress([name])
  // A dialog may take its own button away. Its address must go too, or the dialog opens again when the button comes back.
  watch(isPossible, possible => possible || address.close())
  return computed({
    get: () => address.shown.value !== null && isPossible(),
    set: open => (open ? address.open(name) : address.close()),
  })
}
