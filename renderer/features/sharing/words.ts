import en from '../../words/en/sharing.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('sharing', en)
