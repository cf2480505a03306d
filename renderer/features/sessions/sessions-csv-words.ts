import en from '../../words/en/sessions-csv.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('sessions-csv', en)
