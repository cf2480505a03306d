import en from '../../words/en/folders.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('folders', en)
