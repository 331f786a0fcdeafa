"""Operations that a HudiOperation asks for once: checked first, recorded before anything is changed, verified after."""
