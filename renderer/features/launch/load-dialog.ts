/** Loads the launch dialog, which is a separate chunk; a page that may need it soon calls this in advance. */
export const loadLaunchDialog = () => import('./LaunchDialog.vue')
