import { useDialogAddress } from '../../ui/useDialogAddress.ts'

/** The dialogs about a session, named by the URL: `?dialog=apps&of=ID`; `end` may name several (`of=ID,ID`). `SessionDialogs.vue` shows them. */
export const useSessionDialogs = () => useDialogAddress(['apps', 'share', 'ssh', 'end'])
