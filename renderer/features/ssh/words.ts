import en from '../../words/en/ssh.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('ssh', en)
