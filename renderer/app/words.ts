import en from '../words/en/app.ts'
import { defineWords } from '../words/i18n.ts'

export const t = defineWords('app', en)
