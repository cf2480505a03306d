import { useDialogAddress } from '../../ui/useDialogAddress.ts'

/** The dialogs about one session, named by the URL: `?dialog=apps&of=ID`. `SessionDialogs.vue` shows them. */
export const useSessionDialogs = () => useDialogAddress(['apps', 'share', 'ssh'])
