import { computed, ref } from 'vue'
import { useAttempt } from '../account/useAttempt.ts'
import { t } from '../../words/en/account.ts'

const FIELD_OF_CODE = { login_failed: 'password', totp_invalid: 'code' } as const

/** A signed-in person's proof of identity: the password, and the code if the account has a second factor. */
export interface OwnProof {
  readonly password: string
  readonly totp?: string
}

/** Password and code with which a signed-in person proves their identity again. A refusal is shown at its field. */
export function useProof() {
  const password = ref('')
  const code = ref('')
  const { tried, failure, failureText, ...attempt } = useAttempt()

  const refused = computed(() => {
    const reason = failureText.value?.code
    return reason === 'login_failed' || reason === 'totp_invalid' ? FIELD_OF_CODE[reason] : null
  })
  const passwordError = computed(() => {
    if (refused.value === 'password') return t('notCurrent')
    return tried.value && password.value === '' ? t('enterCurrent') : ''
  })
  const codeError = computed(() => {
    if (refused.value === 'code') return t('codeWrong')
    return tried.value && code.value.trim().length < 6 ? t('enterCode') : ''
  })
  /** The failure, if it is not about one of the two fields. */
  const otherFailure = computed(() => (refused.value === null ? failureText.value : null))
  /** Clears the failure after an edit, because the new value has not been tried. */
  function changed(): void {
    failure.value = null
  }
  return { ...attempt, tried, password, code, passwordError, codeError, otherFailure, changed }
}
