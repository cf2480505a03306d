import en from '../../words/en/session-folders.ts'
import { defineWords } from '../../words/i18n.ts'

/** Texts of the folders of one session; loaded with their section. */
export const t = defineWords('session-folders', en)
