import { computed, shallowRef } from 'vue'
import { logError } from '../../ui/error-log.ts'
import { useAccount } from '../../data/account/useAccount.ts'
import { type Command } from './commands.ts'

/** Commands for the pages of administration that the person may open. They are loaded with the palette of an administrator. */
export function useAdminCommands(go: (to: string) => () => void) {
  const account = useAccount()
  const pages = shallowRef<readonly { readonly to: string; readonly title: () => string }[]>([])
  if (account.isAdmin) {
    // If they cannot be loaded, the page of administration still leads to the pages.
    import('../admin/palette-pages.ts')
      .then(async ({ loadPalettePages }) => {
        pages.value = await loadPalettePages(account.isSuperadmin)
      })
      .catch(logError)
  }
  return computed<Command[]>(() =>
    pages.value.map(({ to, title }) => ({ id: to, group: 'administration', title: title(), run: go(to) })),
  )
}
