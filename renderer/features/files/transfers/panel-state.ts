import { shallowRef } from 'vue'

/** Whether the transfer panel is on the page. Apart from the store of transfers, which loads with the first upload. */
export const isPanelOpen = shallowRef(false)
