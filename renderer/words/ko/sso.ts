import type en from '../en/sso.ts'
import { type Translation } from '../message-types.ts'

export default {
  signInWith: '{name} 계정으로 로그인',
  directoryText: '{name}의 이름과 비밀번호입니다. Berth는 비밀번호를 {name}에 전달만 하고 저장하지 않습니다.',
  directoryName: '이름',
  enterName: '이름을 입력하세요.',
  continueInBrowser: '브라우저에서 계속하세요. Berth가 다시 열리지 않으면 브라우저에 표시된 코드를 입력하세요.',
  codeFromBrowser: '브라우저의 코드',
  finishingSignIn: '로그인하는 중…',
  codeTitle: 'Berth에서 계속',
  codeWarning: '방금 직접 시작한 프로그램에만 이 코드를 입력하세요. 다른 사람에게 알려 주지 마세요.',
  codeLabel: '코드',
  codeHint: '또는 로그인을 시작한 터미널이나 앱에 코드를 복사하세요. 10분 동안 한 번만 사용할 수 있습니다.',
  openDesktopApp: '데스크톱 앱 열기',
  programTitle: '직접 시작하셨나요?',
  programSignsIn: '이 컴퓨터의 프로그램이 <b>{name}</b> 계정으로 로그인하려고 합니다.',
  programLinks:
    '이 컴퓨터의 프로그램이 <b>{name}</b> 계정을 프로그램에 로그인되어 있는 Berth 계정에 연결하려고 합니다.',
  onlyWithWord: '직접 시작한 프로그램이고 그 프로그램에 다음 단어가 표시된 경우에만 계속하세요.',
  continueProgram: '계속',
  programCancelled: '취소했습니다',
  mayClose: '프로그램에는 아무것도 전달되지 않았습니다. 이 창을 닫아도 됩니다.',
  startSignInAgain: '로그인을 다시 시작하세요.',
} as const satisfies Translation<typeof en>
