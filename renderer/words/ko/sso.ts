import type en from '../en/sso.ts'
import { type Translation } from '../message-types.ts'

export default {
  signInWith: '{name} 계정으로 로그인',
  continueInBrowser: '브라우저에서 계속하세요. Berth가 다시 열리지 않으면 브라우저에 표시된 코드를 입력하세요.',
  codeFromBrowser: '브라우저의 코드',
  finishingSignIn: '로그인하는 중…',
  codeTitle: 'Berth에서 계속',
  codeWarning: '방금 직접 시작한 프로그램에만 이 코드를 입력하세요. 다른 사람에게 알려 주지 마세요.',
  codeLabel: '코드',
  codeHint: '또는 로그인을 시작한 터미널이나 앱에 코드를 복사하세요. 10분 동안 한 번만 사용할 수 있습니다.',
  openDesktopApp: '데스크톱 앱 열기',
  startSignInAgain: '로그인을 다시 시작하세요.',
} as const satisfies Translation<typeof en>
