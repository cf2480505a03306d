import en from '../words/en/desktop-warnings.ts'
import { defineWords } from '../words/i18n.ts'

export const t = defineWords('desktop-warnings', en)
