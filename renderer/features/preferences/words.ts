import en from '../../words/en/preferences.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('preferences', en)
