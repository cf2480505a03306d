/** Loads the launch dialog, which is a part of its own; a page that may need it soon calls this ahead. */
export const loadLaunchDialog = () => import('./LaunchDialog.vue')
