import en from '../words/en/ui.ts'
import { defineWords } from '../words/i18n.ts'

/** Texts of shared parts, and words that every feature needs: `shared('cancel')`. */
export const shared = defineWords('ui', en)
