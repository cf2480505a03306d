import en from '../../words/en/admin.ts'
import titlesEn from '../../words/en/admin-titles.ts'
import { defineWords } from '../../words/i18n.ts'

/** Words that several pages of administration need. */
export const t = defineWords('admin', en)
/** Titles of the pages. */
export const titleOf = defineWords('admin-titles', titlesEn)
export type AdminTitle = keyof typeof titlesEn
