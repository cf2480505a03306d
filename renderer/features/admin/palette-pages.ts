import { addAdminTexts } from '../../words/admin-texts.ts'
import { ADMIN_PARTS } from './pages.ts'
import { t as titleOf } from '../../words/en/admin-titles.ts'

/** The pages of administration for the command palette: their addresses, and their titles in the language of the page. */
export async function loadPalettePages(isSuperadmin: boolean) {
  await addAdminTexts()
  return ADMIN_PARTS.flatMap(({ pages }) => pages)
    .filter(({ access, below }) => below !== true && (isSuperadmin || access === 'domain_admin'))
    .map(({ path, label }) => ({ to: `/admin${path}`, title: () => titleOf(label) }))
}
