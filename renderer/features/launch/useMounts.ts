import { computed } from 'vue'
import { type Folder } from '#manager/contract'
import { useAccount } from '../../data/account/useAccount.ts'
import { isDotName } from '../../data/folders/folder-name.ts'
import { useFolders } from '../../data/folders/useFolders.ts'
import { type LaunchForm } from './launch-form.ts'

/** The folders that a session can mount: those that every session of the person mounts automatically, and the others. */
export function useMounts() {
  const store = useFolders()
  const account = useAccount()
  const isAutomatic = ({ name, ownerId }: Folder) => isDotName(name) && ownerId === account.user?.id
  const automatic = computed(() => (store.mountable ?? []).filter(isAutomatic))
  /** Names of all folders that the session mounts. The person's dot-folders are mounted automatically, but not in sessions for others. */
  const mountedBy = ({ folders, automount, owner }: Pick<LaunchForm, 'folders' | 'automount' | 'owner'>) =>
    [...folders, ...(automount && owner.trim() === '' ? automatic.value : [])].map(({ name }) => name)
  return { automatic, isAutomatic, mountedBy }
}
