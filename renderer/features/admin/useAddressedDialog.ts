import { computed, watch, type WritableComputedRef } from 'vue'
import { useDialogAddress } from '../../ui/useDialogAddress.ts'

/**
 * Whether a dialog of the page is open, as its address says (`?dialog=NAME`), so that other pages can link to it.
 *
 * @param isPossible whether the dialog's button exists: without it, the address opens nothing
 */
export function useAddressedDialog(name: string, isPossible: () => boolean = () => true): WritableComputedRef<boolean> {
  const address = useDialogAddress([name])
  // A dialog may remove its own button. The address must be cleaned too, or the dialog opens again when the button comes back.
  watch(isPossible, possible => possible || address.close())
  return computed({
    get: () => address.shown.value !== null && isPossible(),
    set: open => (open ? address.open(name) : address.close()),
  })
}
