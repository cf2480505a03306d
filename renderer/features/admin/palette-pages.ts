import { addAdminTexts } from './admin-texts.ts'
import { ADMIN_PARTS } from './pages.ts'
import { titleOf } from './words.ts'

/** The pages of administration for the command palette: their addresses, and their titles in the language of the page. */
export async function loadPalettePages(isSuperadmin: boolean) {
  await addAdminTexts()
  return ADMIN_PARTS.flatMap(({ pages }) => pages)
    .filter(({ access, below }) => below !== true && (isSuperadmin || access === 'domain_admin'))
    .map(({ path, label }) => ({ to: `/admin${path}`, title: () => titleOf(label) }))
}
