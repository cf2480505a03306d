import { computed } from 'vue'
import { type Folder } from '#manager/contract'
import { useAccount } from '../../data/account/useAccount.ts'
import { isDotName } from '../../data/folders/folder-name.ts'
import { useFolders } from '../../data/folders/useFolders.ts'

/** The folders that a session can mount: those that every session of the person mounts, and the rest. */
export function useMounts() {
  const store = useFolders()
  const account = useAccount()
  const isAutomatic = ({ name, ownerId }: Folder) => isDotName(name) && ownerId === account.user?.id
  const automatic = computed(() => (store.mountable ?? []).filter(isAutomatic))
  return { automatic, isAutomatic }
}
