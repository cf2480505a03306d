import { shallowReactive } from 'vue'

/** Ended tasks that the administrator has closed; they stay hidden until the page is reloaded. */
export const dismissedTasks = shallowReactive(new Set<string>())
