import { shallowReactive } from 'vue'

/** Tasks that ended and that the administrator has closed; they stay away until the page is loaded anew. */
export const dismissedTasks = shallowReactive(new Set<string>())
