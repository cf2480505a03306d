import { shallowRef } from 'vue'

/** Whether the transfer panel is shown. Separate from the store of transfers, which is loaded with the first upload. */
export const isPanelOpen = shallowRef(false)
